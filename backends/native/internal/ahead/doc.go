// Package ahead starts interpreters ahead of their programs. An interpreter is started as for any call, with its own
// arguments; a hook that it runs as the last thing of its own start waits on a descriptor, takes the call's environment,
// closes the descriptor and removes what shows of it. Then the interpreter's own main goes on and finds its program as it
// would have: nothing of main is imitated, so that tracebacks, exit codes, threads and __main__ are the interpreter's.
//
//	interpreter                          caller
//	  │ R ───────────────────────────────▶ │   it waits
//	  │ ◀───────────────────────── Message │   the environment
//	  │ G ───────────────────────────────▶ │   all of it is applied; the program comes next
//
// Python runs sitecustomize.py, first in PYTHONPATH, at the end of "import site" (docs.python.org/3/library/site.html);
// Node.js requires what NODE_OPTIONS names before the program is loaded (nodejs.org/api/cli.html, -r). Options that keep
// an interpreter from running its hook (-I, -E, -S) are refused, as are all others: see [Start.Check].
//
// Python's hook may come compiled ([Compiled]), in __pycache__ beside it, which spares each interpreter the compiling.
//
// What cannot be changed once an interpreter has started is fixed then; see [Fixed].
//
// # What it does not protect
//
// A hook is code inside the sandbox, and confines nothing. Whatever goes wrong in it ends the process with [Failed] before
// the program's first line. Without a G, nothing of the program has run; a G may come from anything that runs there.
//
// # Differences
//
// What a program can see of having been started ahead is listed, and kept by a test, in test/interpreters.
package ahead
