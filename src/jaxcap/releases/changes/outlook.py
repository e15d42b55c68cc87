"""What is known about a single release: what came with it, what came since, and which claims hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxcap.releases.changes.claims import ClaimByRelease
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import ReleaseChange
from jaxcap.releases.recording.files import version_key
from jaxcap.report.claims import Outcome


@dataclass(frozen=True)
class Outlook:
    """What recordings say about a release.

    Attributes
    ----------
    release
        The release that was recorded: the one that was asked for, or the last one before it.
    newest
        The newest that was recorded.
    device
        Where that was.
    arrived
        The changes that came with ``release``, the largest first.
    ahead
        What differs under ``newest``, likewise.
    claims
        What became of each claim under ``release``.
    """

    release: str
    newest: str
    device: str
    arrived: Sequence[ReleaseChange]
    ahead: Sequence[ReleaseChange]
    claims: Mapping[str, Outcome]

    @classmethod
    def of(
        cls, version: str, releases: Releases, claims: Sequence[ClaimByRelease]
    ) -> Outlook | None:
        """Look a release up; None if only later ones were recorded.

        Parameters
        ----------
        version
            The release, such as ``"0.10.2"``.
        releases
            What was recorded.
        claims
            What `jaxcap.releases.changes.claims.check` returned for it.
        """
        earlier = [name for name in releases.names if version_key(name) <= version_key(version)]
        if not earlier:
            return None
        release = earlier[-1]
        return cls(
            release=release,
            newest=releases.newest,
            device=releases.device,
            arrived=[change for change in releases.changes if change.after == release],
            ahead=releases.between(release, releases.newest),
            claims={
                checked.claim.text: checked.outcomes[release]
                for checked in claims
                if release in checked.outcomes
            },
        )
