// Package answer guards the answers of activities that run code of others: no live secret
// leaves with an answer, each answer is signed, and an answer that no worker has signed is
// noted as forged.
package answer
