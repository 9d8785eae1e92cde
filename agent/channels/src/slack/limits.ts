/** Slack's limits; a 429 response always takes precedence. */
import type { Limits } from '../adapter.ts'

export const SLACK_LIMITS: Limits = {
  // A `markdown` block holds 12,000: https://docs.slack.dev/reference/block-kit/blocks/markdown-block
  text: 11_000,
  // Slack allows 1 GB (https://slack.com/help/articles/201330736); a message of this service may have less.
  fileBytesIn: 20 * 1024 * 1024,
  fileBytesOut: 50 * 1024 * 1024,
  // "1 per second per channel": https://docs.slack.dev/apis/web-api/rate-limits
  everyMs: () => 1_000,
  // chat.update is tier 3, 50 a minute, shared by several conversations.
  editEveryMs: () => 3_000,
}

/** A button's label: https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const LABEL = 75
/** Elements of one actions block: https://docs.slack.dev/reference/block-kit/blocks/actions-block */
export const BUTTONS_A_BLOCK = 25
