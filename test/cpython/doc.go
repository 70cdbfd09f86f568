// Package cpython runs CPython's own tests, as Debian ships them (libpython3.11-testsuite), outside and inside a sandbox
// and compares every single outcome. What fails inside and not outside has to be explained by a guarantee, in a list that
// may not hold more than what is seen either.
//
// An ordinary run takes a part of the tests; `make soak` (TOOLCELL_TEST_SOAK=full) all of them. Debian leaves test_sqlite3
// out of its package, so it is not among them.
//
// # Limitations
//
// The tests say what programs can rely on inside. They say nothing about what is kept away from them.
package cpython
