/** A task of the first page that is a mission. */

export const homeMissionWords = {
  criteria: 'Criteria, one per line',
  budget: 'Budget (USD)',
}
