"""What people would use instead: each module ports the functions to one library, in that library's own idiom.

A module has `NAME` and `CASES`: per benchmark a builder, which gets the plain function's arguments and returns a
callable without arguments giving (value, gradients). Importing it raises ImportError where the library is missing.
"""
