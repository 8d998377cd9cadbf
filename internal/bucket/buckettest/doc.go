// Package buckettest is a fake server with the API of S3 on loopback. Tests import it.
package buckettest
