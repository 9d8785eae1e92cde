/** The sections of the rail. */
import { railWords } from '../words/rail.ts'
export const SECTIONS = [
  { id: 'plan', name: railWords.sections.plan },
  { id: 'changes', name: railWords.sections.changes },
  { id: 'files', name: railWords.sections.files },
  { id: 'artifacts', name: railWords.sections.artifacts },
  { id: 'timeline', name: railWords.sections.timeline },
] as const
export type Section = (typeof SECTIONS)[number]['id']

export const isSection = (value: unknown): value is Section => SECTIONS.some(({ id }) => id === value)
