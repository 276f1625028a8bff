"""stub."""


def page_of(profile: object, summary: object) -> str:
    return ""
