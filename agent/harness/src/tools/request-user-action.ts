/**
 * request_user_action: something that only the user can do outside (a login, a second factor); the turn waits
 * for it.
 */
import { createActionItem } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from './parameters.ts'
import type { Tool } from './tool.ts'

export const requestUserActionTool = (newId: () => string): Tool =>
  defineTool({
    name: 'request_user_action',
    description:
      'Ask the user to do something outside that you cannot do yourself: a browser login, a ' +
      'multi-factor step, a signature. The turn waits until they say that it is done. For a question ' +
      'use ask_user_question.',
    parameters: z.strictObject({
      title: z.string().min(1).max(120),
      instructions: z.string().min(1).max(1000).describe('what exactly to do, step by step'),
      context: z.string().max(1000).default('').describe('what the user needs to know'),
      reason: z.string().min(1).max(500).describe('why you cannot continue without it'),
      action_type: z.enum(['login', 'verification', 'browser', 'manual']).default('manual'),
      target: z.string().max(500).optional().describe('where to do it: a URL, a program'),
    }),
    readOnly: false,
    changesSessionOnly: true,
    // Nothing is asked before the commit of the result.
    idempotent: true,
    run({ target, ...asked }, { tool_call_id }) {
      const created = createActionItem({ newId }, { ...asked, target: target ?? null, tool_call_id })
      return Promise.resolve({
        content: {
          status: 'waiting_for_user',
          title: asked.title,
          message: 'You are notified when the user reports that it is done.',
        },
        events: [created.event],
      })
    },
  })
