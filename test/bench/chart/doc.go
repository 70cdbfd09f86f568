// Package chart draws bars and lines as SVG that can be read on a light and on a dark page.
//
// A picture is one string without scripts, fonts or references, the same for the same numbers. It follows the reader's
// colour scheme by itself (prefers-color-scheme), and brings its own background, so that it stays readable where the
// page does not.
package chart
