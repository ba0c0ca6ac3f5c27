"""Java's own tool reads the list of authorities that is written for it."""

import hashlib
import re
import ssl
import subprocess
from pathlib import Path

from penstock.java import find_java
from penstock.java.trust import PASSWORD, trust_options

# Two authorities made for this test; nobody has their keys.
AUTHORITIES = """\
The first:
-----BEGIN CERTIFICATE-----
MIIBpTCCAUugAwIBAgIUAX3ssz92W6wxzu6y2yST7zThLpwwCgYIKoZIzj0EAwIw
JzElMCMGA1UEAwwcRklSU1QgYXV0aG9yaXR5IG9mIHRoZSB0ZXN0czAgFw0yNjEx
MTYwMjE1MDVaGA8yMTI2MTAyMzAyMTUwNVowJzElMCMGA1UEAwwcRklSU1QgYXV0
aG9yaXR5IG9mIHRoZSB0ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKIJ
/teEOlsGNAF7V/e/imu5/iqWUz4+BF/iE47OpukpEoKI2GyFqou3YeRMTar9BJk9
P4yJWiQum6Ube4rtQvajUzBRMB0GA1UdDgQWBBRQkHT/olJtZfWdWhnCeq3WRHbY
AjAfBgNVHSMEGDAWgBRQkHT/olJtZfWdWhnCeq3WRHbYAjAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQChQSEyL3eZ51sSJDiMgYrVx5JDTuZlTVGd
0JORCHa+aQIgbc894mGCsK+iMpW9agjehNkWinfYCCgF8K/lyGbE4+U=
-----END CERTIFICATE-----
# and the second
-----BEGIN CERTIFICATE-----
MIIBpjCCAU2gAwIBAgIUFZg1M7+Gx/LQC9WrSn5Xk1HGO1IwCgYIKoZIzj0EAwIw
KDEmMCQGA1UEAwwdU0VDT05EIGF1dGhvcml0eSBvZiB0aGUgdGVzdHMwIBcNMjYx
MTE2MDIxNTA1WhgPMjEyNjEwMjMwMjE1MDVaMCgxJjAkBgNVBAMMHVNFQ09ORCBh
dXRob3JpdHkgb2YgdGhlIHRlc3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
zfZ6QSEDuBW1scWi/9D5BpkWYRE5iBFLpdSMAZj7NJ/2DwXgc5yGcXX93rm/r2U7
P5XmixSXTIbhZJChXq8kFqNTMFEwHQYDVR0OBBYEFOU9hVJNHO8Pmvl2QzjmnwQk
3KuSMB8GA1UdIwQYMBaAFOU9hVJNHO8Pmvl2QzjmnwQk3KuSMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgYsEaZcGUC1iY6/upYZ2/GNo3k3TWRIaJ
j+y2SSwJiMYCIC8mWS/rIXfCGhXAhUDlD4QsLIMkEdqonDlgUN2pHjFN
-----END CERTIFICATE-----
"""


def test_java_reads_the_authorities_of_ssl_cert_file(tmp_path: Path) -> None:
    bundle = tmp_path / "authorities.pem"
    bundle.write_text(AUTHORITIES)

    store, kind = trust_options({"SSL_CERT_FILE": str(bundle)}, tmp_path)

    assert sorted(fingerprints_in(Path(store.partition("=")[2]))) == sorted(
        hashlib.sha256(ssl.PEM_cert_to_DER_cert(block)).hexdigest()
        for block in re.findall("-----BEGIN.+?END CERTIFICATE-----", AUTHORITIES, re.DOTALL)
    )
    assert kind == "-Djavax.net.ssl.trustStoreType=JKS"


def fingerprints_in(store: Path) -> list[str]:
    keytool = [str(find_java().executable), "-m", "java.base/sun.security.tools.keytool.Main"]
    # It checks the hash of the whole file too, and fails when that is wrong.
    listed = subprocess.run(
        [*keytool, "-list", "-keystore", str(store), "-storetype", "JKS", "-storepass", PASSWORD],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"\(SHA-256\): (\S+)", listed.stdout)
    return [fingerprint.replace(":", "").lower() for fingerprint in found]
