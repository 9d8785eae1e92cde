/** What Slack allows; a live 429 always wins. */
import type { Limits } from '../adapter.ts'

export const SLACK_LIMITS: Limits = {
  // A `markdown` block holds 12,000: https://docs.slack.dev/reference/block-kit/blocks/markdown-block
  text: 11_000,
  // https://slack.com/help/articles/201330736: 1 GB a file; a message of the service has less.
  fileBytesIn: 20 * 1024 * 1024,
  fileBytesOut: 50 * 1024 * 1024,
  // "1 per second per channel": https://docs.slack.dev/apis/web-api/rate-limits
  everyMs: () => 1_000,
  // chat.update is tier 3, 50 a minute: several conversations share it.
  editEveryMs: () => 3_000,
}

/** A button's label: https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const LABEL = 75
/** Elements of one actions block: https://docs.slack.dev/reference/block-kit/blocks/actions-block */
export const BUTTONS_A_BLOCK = 25
