/** The greeting of the first page. Pure: the time is an argument. */
import { homeWords } from '../words/home.ts'

/** The list of items has at most this many. */
const MAX_COUNT = 100

function partOfDay(hour: number): keyof typeof homeWords.greetings {
  if (hour >= 5 && hour < 12) return 'morning'
  return hour >= 12 && hour < 18 ? 'afternoon' : 'evening'
}

/** For example "Good morning, Mara. Six things need you." */
export function greeting(name: string, needs: number, now: Date): string {
  const [first = ''] = name.trim().split(/\s+/)
  const hello = homeWords.greetings[partOfDay(now.getHours())](first)
  return `${hello} ${needs >= MAX_COUNT ? homeWords.manyNeedYou : homeWords.needYou(needs)}`
}
