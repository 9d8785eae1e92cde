/** Starts a session or a mission with what was written on the first page. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { client } from '../api.ts'
import { homeWords } from '../words/home.ts'

export type Start = {
  agent: string
  /** Null: that of the agent. */
  model: string | null
  text: string
  files: readonly File[]
  /** Null: a session. */
  mission: { criteria: string; budget: number | null } | null
}

/** The tour of the demo model, which begins with this message. */
export const tourOf = (agent: string): Start => ({
  agent,
  model: null,
  text: homeWords.tourMessage,
  files: [],
  mission: null,
})

export function useStart() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  /** A session whose first message failed is used for the next attempt. */
  const created = useRef<{ key: string; id: string } | null>(null)

  async function sessionOf({ agent, model }: Start): Promise<string> {
    const key = `${agent} ${model ?? ''}`
    if (created.current?.key === key) return created.current.id
    const { id } = await client.call('createSession', {
      body: { agent, ...(model !== null && { config: { model } }) },
      idempotencyKey: crypto.randomUUID(),
    })
    created.current = { key, id }
    return id
  }

  return useMutation({
    mutationFn: async (start: Start) => {
      if (start.mission !== null) return startMission(start, start.mission)
      const id = await sessionOf(start)
      const carried =
        start.files.length === 0
          ? {}
          : await (await import('../dock/use-attachments.ts')).uploadAll(id, start.files)
      await client.call('sendMessage', {
        params: { id },
        body: { content: start.text, ...carried },
        idempotencyKey: crypto.randomUUID(),
      })
      created.current = null
      return id
    },
    onSuccess: async sessionId => {
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      void queries.invalidateQueries({ queryKey: ['recent'] })
      void queries.invalidateQueries({ queryKey: ['missions'] })
      await navigate({ to: '/sessions/$sessionId', params: { sessionId } })
    },
  })
}

async function startMission(
  { agent, text }: Start,
  { criteria, budget }: NonNullable<Start['mission']>,
): Promise<string> {
  const { session_id } = await client.call('createMission', {
    body: {
      agent,
      description: text,
      rubric: { type: 'text', content: criteria },
      ...(budget !== null && { budget: { max_cost_usd: budget } }),
    },
    idempotencyKey: crypto.randomUUID(),
  })
  return session_id
}
