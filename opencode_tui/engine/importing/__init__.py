"""Import: reads the sessions of other programs and stores them as ours."""
