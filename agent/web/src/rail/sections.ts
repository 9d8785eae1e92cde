/** What the rail can show. */
export const SECTIONS = [
  { id: 'plan', name: 'Plan' },
  { id: 'changes', name: 'Changes' },
  { id: 'files', name: 'Files' },
  { id: 'artifacts', name: 'Artifacts' },
  { id: 'timeline', name: 'Timeline' },
] as const
export type Section = (typeof SECTIONS)[number]['id']

export const isSection = (value: unknown): value is Section => SECTIONS.some(({ id }) => id === value)
