/** Problems of four steps. */
import {
  EACH,
  EARNED,
  FIRST,
  LEFT,
  NEEDED,
  NOW,
  SECOND,
  SPENT,
  TOTAL,
  of,
  step,
  type Template,
} from './template.ts'
import {
  BOOK,
  BOTTLE,
  BUCKET,
  CARD,
  DAY,
  FRIEND,
  KILOGRAM,
  KILOMETER,
  LITER,
  MONEY,
  PACK,
  PLAYER,
  ROW,
  SHELF,
  TEAM,
  TREE,
  WEEK,
  howMany,
} from './words.ts'

export const FOUR_STEPS: readonly Template[] = [
  {
    id: 'library',
    draw: ({ counted }) => {
      const [a, b, c, d, e] = [
        counted(4, 20, SHELF),
        counted(8, 30, BOOK),
        counted(3, 20, SHELF),
        counted(8, 30, BOOK),
        counted(10, 150, BOOK),
      ]
      return {
        en:
          `A library has ${a.en} with ${b.en} each and ${c.en} with ${d.en} each. ${e.en} are lent ` +
          `out. ${howMany(BOOK).en} stay in the library?`,
        ro:
          `O bibliotecă are ${a.ro} cu câte ${b.ro} și ${c.ro} cu câte ${d.ro}. Se împrumută ${e.ro}. ` +
          `${howMany(BOOK).ro} rămân în bibliotecă?`,
        steps: [
          step(FIRST, a.n, '*', b.n, BOOK),
          step(SECOND, c.n, '*', d.n, BOOK),
          step(TOTAL, a.n * b.n, '+', c.n * d.n, BOOK),
          step(LEFT, a.n * b.n + c.n * d.n, '-', e.n, BOOK),
        ],
      }
    },
  },
  {
    id: 'three-days',
    draw: ({ who, counted }) => {
      const [a, b, c] = [counted(30, 250, KILOMETER), counted(5, 90, KILOMETER), counted(5, 90, KILOMETER)]
      const [second, third] = [a.n + b.n, a.n + b.n - c.n]
      return {
        en:
          `${who.name} drives ${a.en} on Monday, ${b.en} more on Tuesday than on Monday, and ${c.en} ` +
          `fewer on Wednesday than on Tuesday. ${howMany(KILOMETER).en} does ${who.name} drive in the ` +
          'three days?',
        ro:
          `${who.name} conduce luni ${a.ro}, marți cu ${b.ro} mai mult decât luni, iar miercuri cu ` +
          `${c.ro} mai puțin decât marți. ${howMany(KILOMETER).ro} conduce ${who.name} în cele trei zile?`,
        steps: [
          step({ en: 'Tuesday', ro: 'Marți' }, a.n, '+', b.n, KILOMETER),
          step({ en: 'Wednesday', ro: 'Miercuri' }, second, '-', c.n, KILOMETER),
          step(FIRST, a.n, '+', second, KILOMETER),
          step(TOTAL, a.n + second, '+', third, KILOMETER),
        ],
      }
    },
  },
  {
    id: 'party-bags',
    draw: ({ who, thing, good, counted }) => {
      const [a, b, c, d, e] = [
        counted(3, 20, PACK),
        counted(5, 25, thing),
        counted(2, 12, PACK),
        counted(3, 20, good),
        counted(3, 12, FRIEND),
      ]
      const all = a.n * b.n + c.n * d.n
      const gift = { en: ['gift', 'gifts'], ro: ['cadou', 'cadouri'], gender: 'n' } as const
      return {
        en:
          `For a party ${who.name} buys ${a.en} of ${b.en} and ${c.en} of ${d.en}. All of these gifts ` +
          `are shared equally among ${e.en}. ${howMany(gift).en} does each friend get?`,
        ro:
          `Pentru o petrecere ${who.name} cumpără ${a.ro} a câte ${b.ro} și ${c.ro} a câte ${d.ro}. ` +
          `Toate aceste cadouri se împart în mod egal la ${e.ro}. ${howMany(gift).ro} primește fiecare ` +
          'prieten?',
        steps: [
          step(FIRST, a.n, '*', b.n, thing),
          step(SECOND, c.n, '*', d.n, good),
          step(TOTAL, a.n * b.n, '+', c.n * d.n, gift),
          step(EACH, all, '/', e.n, gift),
        ],
      }
    },
  },
  {
    id: 'weeks-of-work',
    draw: ({ who, counted }) => {
      const [a, b, c, d, e] = [
        counted(25, 60, MONEY),
        counted(3, 6, DAY),
        counted(20, 90, MONEY),
        counted(2, 6, WEEK),
        counted(20, 200, MONEY),
      ]
      const weekly = a.n * b.n - c.n
      return {
        en:
          `${who.name} earns ${a.en} a day, works ${b.en} a week and spends ${c.en} a week. After ` +
          `${d.en} ${who.name} also gets a bonus of ${e.en}. ${howMany(MONEY).en} does ${who.name} have?`,
        ro:
          `${who.name} câștigă ${a.ro} pe zi, lucrează ${b.ro} pe săptămână și cheltuiește ${c.ro} pe ` +
          `săptămână. După ${d.ro} primește și un premiu de ${e.ro}. ${howMany(MONEY).ro} are ${who.name}?`,
        steps: [
          step(EARNED, a.n, '*', b.n, MONEY),
          step(LEFT, a.n * b.n, '-', c.n, MONEY),
          step(FIRST, weekly, '*', d.n, MONEY),
          step(TOTAL, weekly * d.n, '+', e.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'harvest',
    draw: ({ counted }) => {
      const [a, b, c, d, e] = [
        counted(3, 12, ROW),
        counted(5, 15, TREE),
        counted(3, 30, TREE),
        counted(4, 12, KILOGRAM),
        counted(20, 400, KILOGRAM),
      ]
      const trees = a.n * b.n - c.n
      return {
        en:
          `An orchard has ${a.en} with ${b.en} each. ${c.en} bear no fruit, and each of the others ` +
          `gives ${d.en}. The farmer sells ${e.en}. ${howMany(KILOGRAM).en} are left?`,
        ro:
          `O livadă are ${a.ro} cu câte ${b.ro}. Nu rodesc ${c.ro}, iar fiecare dintre ceilalți dă ` +
          `${d.ro} de fructe. Fermierul vinde ${e.ro}. ${howMany(KILOGRAM).ro} rămân?`,
        steps: [
          step(TOTAL, a.n, '*', b.n, TREE),
          step(LEFT, a.n * b.n, '-', c.n, TREE),
          step(FIRST, trees, '*', d.n, KILOGRAM),
          step(LEFT, trees * d.n, '-', e.n, KILOGRAM),
        ],
      }
    },
  },
  {
    id: 'water-tank',
    draw: ({ who, counted }) => {
      const [a, b, c, d, e] = [
        counted(100, 500, LITER),
        counted(4, 20, BUCKET),
        counted(6, 15, LITER),
        counted(3, 20, BUCKET),
        counted(6, 15, LITER),
      ]
      const full = a.n + b.n * c.n
      return {
        en:
          `A tank holds ${a.en} of water. ${who.name} pours in ${b.en} of ${c.en} and later takes out ` +
          `${d.en} of ${e.en}. ${howMany(LITER).en} are in the tank now?`,
        ro:
          `Într-un rezervor sunt ${a.ro} de apă. ${who.name} toarnă ${b.ro} a câte ${c.ro}, iar mai ` +
          `târziu scoate ${d.ro} a câte ${e.ro}. ${howMany(LITER).ro} sunt acum în rezervor?`,
        steps: [
          step(FIRST, b.n, '*', c.n, LITER),
          step(TOTAL, a.n, '+', b.n * c.n, LITER),
          step(SECOND, d.n, '*', e.n, LITER),
          step(NOW, full, '-', d.n * e.n, LITER),
        ],
      }
    },
  },
  {
    id: 'card-packs',
    draw: ({ who, counted }) => {
      const [a, b, c, d, e] = [
        counted(4, 25, PACK),
        counted(6, 30, CARD),
        counted(4, 60, CARD),
        counted(3, 12, FRIEND),
        counted(3, 60, CARD),
      ]
      const left = a.n * b.n - c.n
      return {
        en:
          `${who.name} has ${a.en} of ${b.en}, loses ${c.en} and shares the rest equally among ` +
          `${d.en}. One of them already had ${e.en}. ${howMany(CARD).en} does this friend have now?`,
        ro:
          `${who.name} are ${a.ro} a câte ${b.ro}, pierde ${c.ro}, iar restul le împarte în mod egal ` +
          `la ${d.ro}. Unul dintre ei avea deja ${e.ro}. ${howMany(CARD).ro} are acum acest prieten?`,
        steps: [
          step(TOTAL, a.n, '*', b.n, CARD),
          step(LEFT, a.n * b.n, '-', c.n, CARD),
          step(EACH, left, '/', d.n, CARD),
          step(NOW, left / d.n, '+', e.n, CARD),
        ],
      }
    },
  },
  {
    id: 'water-for-teams',
    draw: ({ counted }) => {
      const [a, b, c, d, e] = [
        counted(4, 20, TEAM),
        counted(5, 15, PLAYER),
        counted(2, 6, BOTTLE),
        counted(6, 24, BOTTLE),
        counted(2, 30, PACK),
      ]
      const bottles = a.n * b.n * c.n
      return {
        en:
          `${a.en} of ${b.en} play in a cup, and each player gets ${c.en} of water. Bottles come in ` +
          `packs of ${d.en}. The organisers also want ${e.en} in reserve. ${howMany(PACK).en} do they buy?`,
        ro:
          `La o cupă joacă ${a.ro} a câte ${b.ro}, iar fiecare jucător primește ${c.ro} de apă. ` +
          `Sticlele se vând în pachete a câte ${d.ro}. Organizatorii mai vor ${e.ro} de rezervă. ` +
          `${howMany(PACK).ro} cumpără?`,
        steps: [
          step(FIRST, a.n, '*', b.n, PLAYER),
          step(TOTAL, a.n * b.n, '*', c.n, BOTTLE),
          step(NEEDED, bottles, '/', d.n, PACK),
          step(TOTAL, bottles / d.n, '+', e.n, PACK),
        ],
      }
    },
  },
  {
    id: 'two-savers',
    draw: ({ who, other, counted }) => {
      const [a, b, c, d] = [
        counted(10, 60, MONEY),
        counted(10, 60, MONEY),
        counted(4, 12, WEEK),
        counted(30, 500, MONEY),
      ]
      const [first, second] = [a.n * c.n, b.n * c.n]
      return {
        en:
          `${who.name} saves ${a.en} a week and ${other.name} saves ${b.en} a week, both for ${c.en}. ` +
          `Together they buy a bicycle for ${d.en}. ${howMany(MONEY).en} are left?`,
        ro:
          `${who.name} economisește ${a.ro} pe săptămână, iar ${other.name} ${b.ro} pe săptămână, ` +
          `fiecare timp de ${c.ro}. Cumpără împreună o bicicletă de ${d.ro}. ${howMany(MONEY).ro} le rămân?`,
        steps: [
          step(of(who), a.n, '*', c.n, MONEY),
          step(of(other), b.n, '*', c.n, MONEY),
          step(TOTAL, first, '+', second, MONEY),
          step(LEFT, first + second, '-', d.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'market-day',
    draw: ({ who, thing, good, counted }) => {
      const [a, b, c, d, e] = [
        counted(10, 60, thing),
        counted(2, 9, MONEY),
        counted(2, 10, good),
        counted(5, 30, MONEY),
        counted(10, 200, MONEY),
      ]
      const [earned, spent] = [a.n * b.n, c.n * d.n]
      return {
        en:
          `${who.name} comes to the market with ${e.en}, sells ${a.en} at ${b.en} each and buys ` +
          `${c.en} at ${d.en} each. ${howMany(MONEY).en} does ${who.name} have in the end?`,
        ro:
          `${who.name} vine la piață cu ${e.ro}, vinde ${a.ro}, cu ${b.ro} bucata, și cumpără ` +
          `${c.ro}, cu ${d.ro} bucata. ${howMany(MONEY).ro} are ${who.name} la sfârșit?`,
        steps: [
          step(EARNED, a.n, '*', b.n, MONEY),
          step(SPENT, c.n, '*', d.n, MONEY),
          step(TOTAL, e.n, '+', earned, MONEY),
          step(LEFT, e.n + earned, '-', spent, MONEY),
        ],
      }
    },
  },
]
