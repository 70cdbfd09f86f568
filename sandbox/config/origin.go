package config

import "strconv"

// Origin says where a value comes from. The zero value means that it is the default.
type Origin struct {
	// File, Line and Column are the place in a file.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Variable is an environment variable.
	Variable string `json:"variable,omitempty"`
	// Flag is a flag of the command line.
	Flag string `json:"flag,omitempty"`
}

// String returns "default", "FILE:LINE", the variable's name or the flag.
func (o Origin) String() string {
	switch {
	case o.Flag != "":
		return o.Flag
	case o.Variable != "":
		return o.Variable
	case o.Line != 0:
		return o.File + ":" + strconv.Itoa(o.Line)
	default:
		return "default"
	}
}

// Origin returns where the value of a key ("runtime.sandbox.pids") comes from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }
