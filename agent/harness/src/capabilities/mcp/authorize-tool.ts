/** Stands for the tools of an MCP server until the person has authorised the service there. */
import { createActionItem } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import { mcpToolName } from './tool-name.ts'

/** `action_type` of the item; its target is the link. */
const CONNECT_ACCOUNT = 'connect_account'

export const authorizeTool = (server: string, link: string, newId: () => string): Tool =>
  defineTool({
    name: mcpToolName(server, 'authorize'),
    description:
      `The tools of MCP server "${server}" are left out, because the user has not authorised it: ${link} ` +
      'Call this to ask the user. The turn waits, and then has the tools.',
    parameters: z.strictObject({}),
    readOnly: false,
    changesSessionOnly: true,
    // Nothing is asked before the commit of the result.
    idempotent: true,
    run(_, { tool_call_id }) {
      const title = `Authorise MCP server "${server}"`
      const created = createActionItem(
        { newId },
        {
          title,
          instructions: `Open ${link}, log in there and allow access.`,
          context: `The agent wants to use the tools of ${server} with your account.`,
          action_type: CONNECT_ACCOUNT,
          target: link,
          reason: `${server} is not authorised for your account yet.`,
          tool_call_id,
        },
      )
      return Promise.resolve({
        content: { status: 'waiting_for_user', title, link },
        events: [created.event],
      })
    },
  })
