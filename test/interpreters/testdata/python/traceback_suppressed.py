# ends: exit 1
# A suppressed context, and an error without a message.
try:
    {}["missing"]
except KeyError:
    raise LookupError from None
