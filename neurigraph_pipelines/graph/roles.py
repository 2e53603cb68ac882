"""The roles of people towards somebody, as far as one person is not both: a brother is no dentist, and no uncle.

Pure functions over words in the languages in which the offline model reads relations. Friends, neighbours and the like
may be anybody, so they are not listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from neurigraph_pipelines.graph.naming import name_key

_KIN = """
brother bruder hermano frère fratello irmão / sister schwester hermana sœur soeur sorella irmã
father dad vater papa padre père pai / mother mum mom mutter mama madre mère mãe
son sohn hijo fils figlio filho / daughter tochter hija fille figlia filha
uncle onkel tío oncle zio tio / aunt auntie tante tía zia tia / cousin cousine vetter primo prima cugino cugina
nephew neffe sobrino neveu sobrinho / niece nichte sobrina nièce sobrinha / nipote
grandfather grandpa opa großvater abuelo grand-père nonno avô
grandmother grandma granny oma großmutter abuela grand-mère nonna avó
grandson enkel nieto neto / granddaughter enkelin nieta neta
husband ehemann mann esposo marido mari époux marito / wife ehefrau frau esposa mujer femme épouse moglie
brother-in-law schwager cuñado beau-frère cognato cunhado / sister-in-law schwägerin cuñada belle-sœur cognata cunhada
father-in-law schwiegervater suegro beau-père suocero sogro
mother-in-law schwiegermutter suegra belle-mère suocera sogra
"""
_HIRED = """
dentist zahnarzt zahnärztin dentista dentiste / vet veterinarian tierarzt tierärztin veterinario veterinaria
doctor gp physician arzt ärztin hausarzt médico médica médecin medico / lawyer anwalt anwältin abogado abogada avocat
avocate avvocato advogado / landlord landlady vermieter vermieterin casero casera propriétaire
teacher lehrer lehrerin profesor profesora professeur maestro / therapist / plumber klempner / mechanic / hairdresser
barber / accountant / optician / physiotherapist physio / psychologist / builder / electrician / gardener
"""
_WORK = (
    "boss chef chefin jefe jefa coworker co-worker colleague kollege kollegin collègue collega manager client customer"
)

_GROUPS = {
    word: (group, number if group != "work" else 0)
    for group, words in (("kin", _KIN), ("hired", _HIRED), ("work", _WORK))
    for number, forms in enumerate(words.split("/"))
    for word in forms.split()
}
Role = tuple[str, int]


def roles_of(labels: Iterable[str]) -> frozenset[Role]:
    """Return the roles that labels such as ``older brother`` name."""
    words = (word for label in labels for word in (name_key(label), *name_key(label).split()[-1:]))
    return frozenset(_GROUPS[word] for word in words if word in _GROUPS)


def defined_roles(name: str, summary: str) -> frozenset[Role]:
    """Return the roles that the definition of a person's node names, such as a brother in ``Tomas: brother``."""
    said = summary.removeprefix(f"{name}: ")
    return roles_of(said.partition(".")[0].split(", ")) if said != summary else frozenset()


def are_two(some: frozenset[Role], others: frozenset[Role]) -> bool:
    """Return whether two mentions of a name state attributes that no single person has."""
    return bool(some and others) and some.isdisjoint(others)


def are_kin(roles: frozenset[Role]) -> bool:
    """Return whether some of these roles are of relatives."""
    return any(group == "kin" for group, _ in roles)
