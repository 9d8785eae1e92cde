/**
 * Checks an answer against its row of the route table. Loose: required keys must be there, extra keys are
 * kept.
 */
import { ROUTES, type Route } from '@cairn/protocol'
import type { CheckAnswer } from './call.ts'

/** Contract 16.3. */
export const checkAnswer: CheckAnswer = (name, answer) => {
  const route: Route = ROUTES[name]
  const issue = route.answer
    ?.safeParse(answer)
    .error?.issues.find(found => found.code !== 'unrecognized_keys')
  if (issue)
    throw new Error(
      `[${name}] unexpected response of the server: ${issue.path.join('.') || 'body'}: ${issue.message}`,
    )
}
