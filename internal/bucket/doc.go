// Package bucket stores objects in a bucket of S3, or of a service with the API of S3. It finds credentials, the region and the endpoint as
// every program with the AWS SDK does: in the environment, in profiles, and in the metadata of the machine.
//
// It must not know what the objects are, and no text of a server or of a credential leaves it. Package postgres
// imports it. It is the one owner of the AWS SDK.
package bucket
