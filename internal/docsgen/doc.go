// Package docsgen writes the parts of docs/ that repeat the code: the JSON
// Schemas of the contract and of a policy, and the blocks of pages that are marked as generated
// (fields, codes, stages, commands, test vectors). Its test compares them with
// what is on disk; with -update it rewrites them.
//
// It must never describe what the code does not do, and it ships in no program.
// Nobody imports it.
package docsgen
