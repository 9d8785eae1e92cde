/** The sections of the rail. Without their names, because the router, which loads first, reads the ids. */
export const SECTION_IDS = ['plan', 'changes', 'files', 'artifacts', 'timeline'] as const
export type Section = (typeof SECTION_IDS)[number]

export const isSection = (value: unknown): value is Section => SECTION_IDS.some(id => id === value)
