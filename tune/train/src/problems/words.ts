/** Words of the problems in both languages, and the rules for counting things with them. */

export type Gender = 'm' | 'f' | 'n'
export type Noun = {
  en: readonly [one: string, many: string]
  ro: readonly [one: string, many: string]
  gender: Gender
}
export type Person = { name: string; /** "to Ana" in Romanian. */ dative: string }
export type Text = { en: string; ro: string }

const noun = (enOne: string, enMany: string, roOne: string, roMany: string, gender: Gender): Noun => ({
  en: [enOne, enMany],
  ro: [roOne, roMany],
  gender,
})

/** Things that a child may own, collect, give and share. */
export const THINGS = [
  noun('apple', 'apples', 'măr', 'mere', 'n'),
  noun('orange', 'oranges', 'portocală', 'portocale', 'f'),
  noun('pencil', 'pencils', 'creion', 'creioane', 'n'),
  noun('marble', 'marbles', 'bilă', 'bile', 'f'),
  noun('stamp', 'stamps', 'timbru', 'timbre', 'n'),
  noun('sticker', 'stickers', 'abțibild', 'abțibilduri', 'n'),
  noun('walnut', 'walnuts', 'nucă', 'nuci', 'f'),
  noun('candy', 'candies', 'bomboană', 'bomboane', 'f'),
  noun('flower', 'flowers', 'floare', 'flori', 'f'),
  noun('balloon', 'balloons', 'balon', 'baloane', 'n'),
  noun('rose', 'roses', 'trandafir', 'trandafiri', 'm'),
  noun('peach', 'peaches', 'piersică', 'piersici', 'f'),
  noun('shell', 'shells', 'scoică', 'scoici', 'f'),
  noun('donut', 'donuts', 'gogoașă', 'gogoși', 'f'),
  noun('pretzel', 'pretzels', 'covrig', 'covrigi', 'm'),
] as const

/** Things that are bought one by one. */
export const GOODS = [
  noun('notebook', 'notebooks', 'caiet', 'caiete', 'n'),
  noun('book', 'books', 'carte', 'cărți', 'f'),
  noun('pen', 'pens', 'pix', 'pixuri', 'n'),
  noun('ticket', 'tickets', 'bilet', 'bilete', 'n'),
  noun('toy', 'toys', 'jucărie', 'jucării', 'f'),
  noun('cake', 'cakes', 'prăjitură', 'prăjituri', 'f'),
] as const

export const MONEY = noun('dollar', 'dollars', 'leu', 'lei', 'm')
export const BOOK = noun('book', 'books', 'carte', 'cărți', 'f')
export const PAGE = noun('page', 'pages', 'pagină', 'pagini', 'f')
export const DAY = noun('day', 'days', 'zi', 'zile', 'f')
export const WEEK = noun('week', 'weeks', 'săptămână', 'săptămâni', 'f')
export const KILOMETER = noun('kilometer', 'kilometers', 'kilometru', 'kilometri', 'm')
export const KILOGRAM = noun('kilogram', 'kilograms', 'kilogram', 'kilograme', 'n')
export const METER = noun('meter', 'meters', 'metru', 'metri', 'm')
export const LITER = noun('liter', 'liters', 'litru', 'litri', 'm')
export const MINUTE = noun('minute', 'minutes', 'minut', 'minute', 'n')
export const BOX = noun('box', 'boxes', 'cutie', 'cutii', 'f')
export const BAG = noun('bag', 'bags', 'pungă', 'pungi', 'f')
export const SHELF = noun('shelf', 'shelves', 'raft', 'rafturi', 'n')
export const ROW = noun('row', 'rows', 'rând', 'rânduri', 'n')
export const CHAIR = noun('chair', 'chairs', 'scaun', 'scaune', 'n')
export const TREE = noun('tree', 'trees', 'pom', 'pomi', 'm')
export const HEN = noun('hen', 'hens', 'găină', 'găini', 'f')
export const EGG = noun('egg', 'eggs', 'ou', 'ouă', 'n')
export const PASSENGER = noun('passenger', 'passengers', 'pasager', 'pasageri', 'm')
export const STUDENT = noun('student', 'students', 'elev', 'elevi', 'm')
export const TEACHER = noun('teacher', 'teachers', 'profesor', 'profesori', 'm')
export const CLASS = noun('class', 'classes', 'clasă', 'clase', 'f')
export const BUS = noun('bus', 'buses', 'autobuz', 'autobuze', 'n')
export const FRIEND = noun('friend', 'friends', 'prieten', 'prieteni', 'm')
export const POINT = noun('point', 'points', 'punct', 'puncte', 'n')
export const ROUND = noun('round', 'rounds', 'rundă', 'runde', 'f')
export const TRAY = noun('tray', 'trays', 'tavă', 'tăvi', 'f')
export const ROLL = noun('bread roll', 'bread rolls', 'chiflă', 'chifle', 'f')
export const PIECE = noun('piece', 'pieces', 'bucată', 'bucăți', 'f')
export const TEAM = noun('team', 'teams', 'echipă', 'echipe', 'f')
export const PLAYER = noun('player', 'players', 'jucător', 'jucători', 'm')
export const BOTTLE = noun('bottle', 'bottles', 'sticlă', 'sticle', 'f')
export const PACK = noun('pack', 'packs', 'pachet', 'pachete', 'n')
export const CARD = noun('card', 'cards', 'cartonaș', 'cartonașe', 'n')
export const BUCKET = noun('bucket', 'buckets', 'găleată', 'găleți', 'f')
export const TIMES = noun('time', 'times', 'dată', 'ori', 'f')

const person = (name: string, dative: string): Person => ({ name, dative })
export const PEOPLE = [
  person('Ana', 'Anei'),
  person('Maria', 'Mariei'),
  person('Elena', 'Elenei'),
  person('Ioana', 'Ioanei'),
  person('Sofia', 'Sofiei'),
  person('Daria', 'Dariei'),
  person('Dan', 'lui Dan'),
  person('Mihai', 'lui Mihai'),
  person('Andrei', 'lui Andrei'),
  person('Victor', 'lui Victor'),
  person('Radu', 'lui Radu'),
  person('Luca', 'lui Luca'),
] as const

/**
 * Romanian puts "de" between a numeral and its noun unless the numeral's last two digits are 01 to 19 (or it
 * is below 20): 19 mere, 20 de mere, 101 mere, 119 mere, 100 de mere.
 */
export const takesDe = (n: number) => n >= 20 && (n % 100 === 0 || n % 100 >= 20)

export const countEn = (n: number, { en: [one, many] }: Noun) => `${n} ${n === 1 ? one : many}`

export function countRo(n: number, { ro: [one, many], gender }: Noun): string {
  if (n === 1) return `${gender === 'f' ? 'o' : 'un'} ${one}`
  return `${n}${takesDe(n) ? ' de' : ''} ${many}`
}

/** "How many …" in Romanian agrees in gender; a neuter noun is feminine in the plural. */
export const howMany = ({ en, ro, gender }: Noun): Text => ({
  en: `How many ${en[1]}`,
  ro: `${gender === 'm' ? 'Câți' : 'Câte'} ${ro[1]}`,
})

/** "more …" of a plural: mai mulți lei, mai multe mere. */
export const moreRo = ({ ro, gender }: Noun) => `mai ${gender === 'm' ? 'mulți' : 'multe'} ${ro[1]}`
