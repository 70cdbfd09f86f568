// Package tools holds the tools that a gateway or an MCP server offers to a model: run_code, shell_exec, run_script,
// python_eval, install_library, write_file, read_file, list_files and download_file. Each has typed arguments, fixed
// defaults and caps, and a typed result with the text that a model reads.
//
// Agents and plugins bring tools of their own, in Python: a function in a file, source in a manifest, a plugin's handler.
// [Tools.PythonFile], [Tools.Inline] and [Tools.Plugin] call them, with JSON in and what the function returns out.
//
// Every call passes one chokepoint: it asks a [Chooser] where it may run, checks the answer, and runs there or nowhere.
// The package decides nothing itself and knows no backend; nothing in it starts a program but through
// [sandbox.Backend].
//
// A program that fails, is ended at a limit or writes too much is a result. An error means that the call was not made as
// asked; it is a [*sandbox.Error] wherever trying again would not help, see [Final].
//
// # What it does not protect
//
// A sandboxed call is as confined as its backend's report says. write_file, read_file, list_files and download_file work
// in the caller's own process, with its rights: [Tools].Roots contains them, no sandbox does. What a tool writes into
// the workspace stays there for the next call, and whatever reads it later should not trust it. An agent's or a plugin's
// own tool sees the whole directory that its file lies in, or its plugin's, and the values of the variables that the
// agent names. The text of a result is a program's output; it can hold anything, instructions to a model among it.
package tools
