// Package tests holds what needs more than one package: the rules of the tree (who may import whom) and the end-to-end
// tests of the real binary with a real browser, real plugins and real clients.
package tests
