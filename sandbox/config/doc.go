// Package config reads the operator's configuration: the gateway's own YAML file, of which runtime.sandbox and executor
// are this module's, and the execution and env of the agents' SOUL.yaml.
//
// # Strict
//
// Inside runtime.sandbox and executor an unknown key, an unknown value and a key that the chosen backend cannot honour
// are errors, each a [Problem] with file, line, column and the accepted values; all of them are reported at once. Of the
// rest of the file only runtime.python_bin, tool_timeout, allowed_tool_dirs and allow_system_agents are read. Keys that
// this package reads have to be spelled as they are: in another case, with dots, twice, or brought in by a merge key they
// are errors, since the gateway might read what is passed over here.
//
// 0, "", null and a missing key mean the default. A negative number is an error. Nothing means "unlimited"; running
// without a limit takes a waiver.
//
// # Where the file is
//
// The first of: [Options].File (--config), the environment's TOOLCELL_CONFIG, toolcell/config.yaml below
// XDG_CONFIG_HOME or ~/.config (on Windows below %AppData%), /etc/toolcell/config.yaml (on Windows
// %ProgramData%\toolcell\config.yaml). Only a named file has to exist; one that exists and cannot be read is an error.
//
// # Who may write it
//
// The file can hold waivers, so it has to be a regular file that belongs to root or the caller and that nobody else may
// write. What is checked is what is read: one open file. On Windows, which has no such mode, nothing is checked.
//
// The environment may choose the file (TOOLCELL_CONFIG), the backend (TOOLCELL_BACKEND) and the log level
// (TOOLCELL_LOG). It never chooses whether there is a sandbox, which guarantees are waived, or where Python tools run;
// variables that look as if they should are warned of and change nothing.
//
// # What it does not protect
//
// Whoever may write the file, or replace it in its directory, is the operator. Paths are checked for their form alone:
// whether a mount's source may be shown is the backend's decision at each call.
package config
