/**
 * Addresses below /agents: an agent by its name, and what agents share behind a dash, with which no name
 * begins. One route serves them all, so that the first page loads little of them.
 */
import { useParams } from '@tanstack/react-router'

const PARTS = ['models', 'mcp-servers', 'skills', 'experts', 'changes'] as const
export type Part = (typeof PARTS)[number]
/** Null: the address names nothing. */
export type AgentsAddress = { at: 'home' } | { at: 'agent'; name: string } | { at: 'part'; part: Part } | null

export const TO = '/agents/$'
export const toAgent = (name: string) => ({ _splat: name })
export const toPart = (part: Part) => ({ _splat: `-/${part}` })

export function readAddress(rest: string): AgentsAddress {
  if (rest === '') return { at: 'home' }
  if (!rest.startsWith('-/')) return rest.includes('/') ? null : { at: 'agent', name: rest }
  const part = PARTS.find(each => rest === `-/${each}`)
  return part === undefined ? null : { at: 'part', part }
}

export const useAddress = (): AgentsAddress => readAddress(useParams({ strict: false })._splat ?? '')
