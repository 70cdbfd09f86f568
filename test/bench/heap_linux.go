package main

import (
	"errors"
	"fmt"
)

// heap measures whether a caller's memory makes its calls slower.
func (m *measurement) heap(string) error {
	var sum int
	for _, mib := range heaps() {
		sum += mib
	}
	if free := availableMiB(); free < 2*sum {
		m.lacks(nameHeaps, fmt.Errorf("%d MiB of memory are available", free))
		return nil
	}
	all, err := m.heapSeries()
	if err != nil {
		return err
	}
	m.table(table{Name: "heap", Title: "callers with large heaps: /bin/true"}, all, nil)
	small, large := heapOf(heaps()[0]), heapOf(heaps()[len(heaps())-1])
	m.ratio(heapToSmall, all, nameCold+large, nameCold+small)
	m.ratio("bare start, 2 GiB heap / 8 MiB", all, nameBare+large, nameBare+small)
	m.ratio("os/exec NEWUSER, 2 GiB heap / 8 MiB", all, nameNewUser+large, nameNewUser+small)
	return nil
}

// heapSeries measures calls of callers with heaps of several sizes, in the same rounds.
func (m *measurement) heapSeries() (out []series, err error) {
	var subjects []subject
	for _, mib := range heaps() {
		m.progress.show("heap: a caller with %d MiB", mib)
		w, err := startWorker(mib, m.options.bin, m.options.waive)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, w.close()) }()
		for _, name := range []string{nameBare, nameNewUser, nameCold} {
			subjects = append(subjects, w.subject(name, heapOf(mib)))
		}
	}
	return m.roundsOf("heap", heapRounds).measure(subjects)
}

// heapRounds divides the number of rounds, as program.rounds does.
const heapRounds = 2
