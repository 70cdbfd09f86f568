//go:build !linux

package main

func denySetrlimit() { panic("only on Linux") }
