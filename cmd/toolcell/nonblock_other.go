//go:build !unix

package main

// nonblock changes nothing here.
const nonblock = 0
