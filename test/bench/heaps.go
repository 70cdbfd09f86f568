package main

import "fmt"

// heaps are how much memory the callers hold, in MiB, from the smallest.
func heaps() []int { return []int{8, 512, 2048} }

// heapOf is the suffix of the name of a caller's way.
func heapOf(mib int) string {
	if mib >= 1024 {
		return fmt.Sprintf(", %d GiB heap", mib/1024)
	}
	return fmt.Sprintf(", %d MiB heap", mib)
}
