package tools

import (
	"os"

	"github.com/soulacy/toolcell/sandbox"
)

// giveTo changes nothing: engines on Windows show a directory as the program's own.
func giveTo(string, sandbox.UserSpec) error { return nil }

// hold holds nothing: engines on Windows have nothing stand ready, and a call's directory ends with it.
func hold(string) (*os.File, error) { return nil, nil }

// sweep leaves everything where it is.
func sweep(string) {}
