package tools

import "github.com/soulacy/toolcell/sandbox"

// giveTo changes nothing: engines on Windows show a directory as the program's own.
func giveTo(string, sandbox.UserSpec) error { return nil }
