/** A key and its self-signed certificate, for servers of tests alone. Valid for a hundred years. */
export const testKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFciY2HrUazrgTfUs
WW0ZmqhdYSt6rpNBVQKX7SuXzA+hRANCAAQHnDmGFh30u/KjD+wZgWVc3LXDaIN+
f7pkUMzeu1Pftfo2mIut+0z0zlPdpBqDZxzyPlgjQM6lOaJROeZBhNZ5
-----END PRIVATE KEY-----`;

export const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUMuWbnAqhSRKNfhXtp45q2RE2vuAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNjAyMTA1N1oYDzIxMjYxMTAy
MDIxMDU3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQHnDmGFh30u/KjD+wZgWVc3LXDaIN+f7pkUMzeu1Pftfo2mIut+0z0
zlPdpBqDZxzyPlgjQM6lOaJROeZBhNZ5o1MwUTAdBgNVHQ4EFgQUncjMnf+ffyPn
JMJ/csTtjmSb7pgwHwYDVR0jBBgwFoAUncjMnf+ffyPnJMJ/csTtjmSb7pgwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAx/VZCRdQvBVoONfApLPE
paXfvuroCwtKONAf6ZDMiGgCIQDh7RvvyFS+R6oxDJBDa/eL3DycxUjIVcAWQJd2
TBh5+Q==
-----END CERTIFICATE-----`;
