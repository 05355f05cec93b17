"""Small parts that several screens share."""
