// Package script tells what a person does with coop, and what coop answers, as
// testscript stories: testdata/*.txtar. They run the real binary and read as
// documentation. The words the stories use beside testscript's own are in
// words_test.go.
package script
