// Package judgetest gives tests policies without a database.
package judgetest
