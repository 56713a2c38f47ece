"""The bill of materials of a release, in CycloneDX 1.6: every package that an install can bring.

Made from the lock, so that it names the extras too, checksums included, and no addresses.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from scripts.release import lock


def written(version: str, wheel_sha256: str, epoch: str) -> str:
    """Return the bill as JSON; the same release gives the same bytes."""
    packages = lock.load()
    base, extras = lock.project()
    own = f"pkg:pypi/pincite@{version}"
    names = lock.needed_names([*base, *(line for lines in extras.values() for line in lines)])
    dependencies = [{"ref": own, "dependsOn": sorted(_purl(n, packages) for n in names)}]
    dependencies += [
        {"ref": _purl(name, packages), "dependsOn": [_purl(n, packages) for n in each["requires"]]}
        for name, each in packages.items()
    ]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, own + wheel_sha256)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(epoch), UTC).isoformat(),
            "component": {
                "bom-ref": own,
                "type": "application",
                "name": "pincite",
                "version": version,
                "purl": own,
                "hashes": [{"alg": "SHA-256", "content": wheel_sha256}],
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": [_component(name, packages) for name in packages],
        "dependencies": dependencies,
    }
    return json.dumps(bill, indent=1, ensure_ascii=False) + "\n"


def _purl(name: str, packages: dict[str, lock.Package]) -> str:
    return f"pkg:pypi/{name}@{packages[name]['version']}"


def _component(name: str, packages: dict[str, lock.Package]) -> dict[str, Any]:
    package = packages[name]
    return {
        "bom-ref": _purl(name, packages),
        "type": "library",
        "name": name,
        "version": package["version"],
        "purl": _purl(name, packages),
        # What everybody gets is required; what an extra brings is not.
        "scope": "required" if lock.BASE in package["for"] else "optional",
        "hashes": [{"alg": "SHA-256", "content": package["sha256"]}],
        "licenses": [{"license": {"name": package["licence"] or "not declared"}}],
    }


if __name__ == "__main__":
    sys.stdout.write(written("0", "0" * 64, "0"))
