/**
 * How a failed delivery is classified if the platform returns only an HTTP status; Slack and WhatsApp agree.
 */
import { WebAPIHTTPError } from '@slack/web-api'
import { expect, test } from 'vitest'
import { failureOf as failureOfSlack } from '../src/slack/failures.ts'
import { failureOf as failureOfWhatsapp } from '../src/whatsapp/failures.ts'

const slack = (status: number): string => failureOfSlack(new WebAPIHTTPError(status, 'refused', {})).failure
const whatsapp = (status: number): string => failureOfWhatsapp(status, null, new Headers(), 0).failure

test.each([
  [503, 'transient'],
  [408, 'unknown'],
  [500, 'unknown'],
  [502, 'unknown'],
  [400, 'permanent'],
  [404, 'permanent'],
])('a part answered with status %i alone fails as %s on Slack and WhatsApp', (status, failure) => {
  expect([slack(status), whatsapp(status)]).toEqual([failure, failure])
})
