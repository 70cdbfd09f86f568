// Package interpreters runs a corpus of Python and Node.js programs on the native backend and compares runs of the same
// program byte for byte: what it wrote, how it ended, and the files that it left. The programs look at everything that
// an interpreter which was started ahead of its program could show differently from one that was started for it.
//
// # The corpus
//
// Every file in testdata/python and testdata/node is a program, and so is every directory there, whose main file is called
// main. Beside a program NAME there may be NAME.stdin, its input; NAME.env, lines of NAME=VALUE; and NAME.args, one
// argument a line. A program whose bytes would not survive an editor is in sources_linux_test.go.
//
// A program ends with exit code 0 and nothing on its standard error, unless a line of it says otherwise: "# ends: exit 3",
// "# ends: SIGTERM", with "//" in JavaScript. Its output is the same in every run.
//
// What is known to differ is in testdata/differences, one program for each difference, and in testdata/DIFFERENCES.md.
//
// # Limitations
//
// Addresses are masked before anything is compared, and no program looks at the time that something takes.
package interpreters
