"""Formulas and small diagrams of answers as text. Loaded by the first answer that has one."""
