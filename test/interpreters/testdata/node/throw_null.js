// ends: exit 1
throw null
