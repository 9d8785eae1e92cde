/** Classifies errors of the Web API. https://docs.slack.dev/reference/methods/chat.postMessage#errors */
import {
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
} from '@slack/web-api'
import { type Failure, SendFailed } from '../adapter.ts'
import { failureOfStatus } from '../answered-status.ts'
import { lostCall } from '../lost-call.ts'

const OF_ERROR: Readonly<Record<string, Failure>> = {
  ratelimited: 'rate_limited',
  rate_limited: 'rate_limited',
  not_authed: 'unauthorized',
  invalid_auth: 'unauthorized',
  account_inactive: 'unauthorized',
  token_revoked: 'unauthorized',
  token_expired: 'unauthorized',
  missing_scope: 'unauthorized',
  service_unavailable: 'transient',
  team_added_to_org: 'transient',
  // "Some aspect of the operation succeeded before the error."
  fatal_error: 'unknown',
  internal_error: 'unknown',
  request_timeout: 'unknown',
  // Slack knows the client_msg_id but not the message.
  duplicate_message_not_found: 'unknown',
  invalid_blocks: 'bad_format',
  invalid_blocks_format: 'bad_format',
  invalid_block: 'bad_format',
  msg_blocks_too_long: 'bad_format',
}
/** The message never contains the request, because that holds the token. */
export function failureOf(thrown: unknown): SendFailed {
  if (thrown instanceof WebAPIRateLimitedError)
    return new SendFailed('rate_limited', 'Slack returned 429', {
      afterMs: thrown.retryAfter * 1000,
      scope: 'conversation',
    })
  if (thrown instanceof WebAPIPlatformError) {
    const { error } = thrown.data
    return new SendFailed(OF_ERROR[error] ?? 'permanent', `Slack returned ${error}`)
  }
  if (thrown instanceof WebAPIHTTPError) {
    const { statusCode } = thrown
    return new SendFailed(failureOfStatus(statusCode), `Slack returned ${statusCode}`)
  }
  return lostCall('Slack', thrown instanceof WebAPIRequestError ? thrown.original : thrown)
}
