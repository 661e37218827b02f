"""The words of the demo shop: sixteen shelves, six lines a shelf, everything invented.

A story shelf composes its titles from two aligned word lists, so that `Drowned` meets `Bell` first
and other nouns later. A goods shelf has three ranges of eight goods, in the order in which people
buy them, and six makers, each of whom makes one range.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shelf:
    """One shelf; `lines` are its series (of stories) or its makers (of goods)."""

    prefix: str
    lines: tuple[str, ...]
    variants: tuple[str, str]
    firsts: tuple[str, ...] = ()
    seconds: tuple[str, ...] = ()
    pair: str = "The {first} {second}"
    title: str = "{pair} ({line} {number})"
    ranges: tuple[tuple[str, ...], ...] = ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


# Neighbours on this list are kin: people who like one shelf look at the next.
SHELVES: tuple[Shelf, ...] = (
    Shelf(
        "CR",
        _words("Inspector Marlow, The Pier Murders, Sister Agnes, Dr Vane, Fell Side, Ash Row"),
        ("large print", "hardback"),
        _words("Drowned, Silent, Crooked, Borrowed, Paper, Winter, Locked, Burning, Third, Hollow"),
        _words("Bell, Witness, Ferry, Alibi, Orchard, Key, Letter, Portrait, Harbour, Gardener"),
    ),
    Shelf(
        "FA",
        _words("Salt Kings, Emberfall, The Moor Cycle, Ravenmark, Tidewitch, The Glass Court"),
        ("illustrated edition", "hardback"),
        _words("Crown, Oath, Song, Thief, Tower, Daughter, Throne, Shadow, Gate, Heir"),
        _words("Ash, Thorns, Winter, the Deep, Salt, Ravens, Embers, Glass, Storms, Silver"),
        pair="{first} of {second}",
    ),
    Shelf(
        "SF",
        _words("Long Orbit, Ceres Station, The Quiet Fleet, Second Sun, Ark Nine, Null Harbour"),
        ("large print", "signed copy"),
        _words("Distant, Frozen, Last, Hidden, Falling, Broken, Infinite, Patient, Slow, Outer"),
        _words("Signal, Colony, Engine, Horizon, Comet, Meridian, Archive, Machine, Armada, Light"),
    ),
    Shelf(
        "VG",
        _words("Starfall, Knights of Umber, Rally Club, Deep Diver, Puzzle Foundry, Goblin Inn"),
        ("collector's edition", "digital code"),
        _words("New, Broken, Rising, Endless, Crimson, Shattered, Silver, Final, Wild, Forgotten"),
        _words("Dawn, Empire, Circuit, Echo, Tide, Frontier, Legacy, Storm, Signal, Kingdom"),
        pair="{first} {second}",
        title="{line} {number}: {pair}",
    ),
    Shelf(
        "BG",
        _words("Harbour Lords, Cloud Orchard, Iron Caravans, Lantern Guild, Moss, Six Bridges"),
        ("pocket edition", "wooden box"),
        _words("First, Long, Crowded, Forgotten, Royal, Stormy, Hidden, Golden, Distant, Last"),
        _words("Season, Winter, Market, Coast, Council, Voyage, Valley, Harvest, Island, Festival"),
        title="{line} {number}: {pair}",
    ),
    Shelf(
        "CH",
        _words(
            "Pip the Hedgehog, Otto Otter, Captain Button, Mabel Mouse, Gran Teapot, Bruno Bear"
        ),
        ("board book", "audio book"),
        _words("Lost, Giant, Sleepy, Secret, Muddy, Wobbly, Golden, Runaway, Noisy, Snowy"),
        _words("Balloon, Picnic, Owl, Treehouse, Puddle, Cake, Umbrella, Rowing Boat, Fair, Kite"),
        pair="the {first} {second}",
        title="{line} and {pair}",
    ),
    Shelf(
        "PA",
        _words("Umberline, Studio Larch, Penrose & Dot, Marlpit, Fifth Easel, Bluewick"),
        ("small", "large"),
        ranges=(
            _words(
                "watercolour set, round brushes, watercolour pad, mixing palette, masking fluid, "
                "travel paintbox, granulating medium, table easel"
            ),
            _words(
                "acrylic set, flat brushes, canvas boards, palette knives, gesso, retarder, "
                "stretched canvas, studio easel"
            ),
            _words(
                "sketching pencils, sketchbook, putty eraser, charcoal sticks, blending stumps, "
                "fixative, soft pastels, portfolio case"
            ),
        ),
    ),
    Shelf(
        "KN",
        _words("Woolgate, Purl & Plain, Fernhill, Tillyard, Old Loom, Heather Skein"),
        ("in oatmeal", "in teal"),
        ranges=(
            _words(
                "bamboo needles, chunky yarn, stitch markers, scarf kit, cable needle, aran yarn, "
                "blocking mats, jumper kit"
            ),
            _words(
                "crochet hooks, cotton yarn, granny square kit, row counter, amigurumi kit, "
                "hook roll, blanket kit, yarn bowl"
            ),
            _words(
                "sewing kit, fabric scissors, tote bag pattern, rotary cutter, quilting fabric, "
                "cutting mat, walking foot, quilt kit"
            ),
        ),
    ),
    Shelf(
        "BA",
        _words("Hearthside, Crumb & Crust, Millrace, Tinsmith, Sugarloft, Oven Hill"),
        ("in cream", "in red"),
        ranges=(
            _words(
                "bread flour, loaf tin, dough scraper, banneton, bread lame, sourdough jar, "
                "baking stone, cast iron bread pan"
            ),
            _words(
                "cake tin, mixing bowls, icing bag, piping nozzles, cake turntable, palette knife, "
                "tiered stand, cake carrier"
            ),
            _words(
                "biscuit cutters, rolling pin, baking tray, cooling rack, silicone mat, "
                "sugar thermometer, chocolate moulds, dipping forks"
            ),
        ),
    ),
    Shelf(
        "KI",
        _words("Copperleaf, Saltmarsh, Brightwell, Cook's Landing, Ironmoor, Table Nine"),
        ("in slate", "in sage"),
        ranges=(
            _words(
                "chef's knife, chopping board, paring knife, honing steel, bread knife, "
                "knife block, whetstone, boning knife"
            ),
            _words(
                "frying pan, saucepan, silicone spatula, stock pot, splash guard, griddle, "
                "casserole, roasting tin"
            ),
            _words(
                "carbon steel wok, bamboo steamer, rice cooker, chopsticks, spider strainer, "
                "cleaver, spice grinder, clay pot"
            ),
        ),
    ),
    Shelf(
        "CO",
        _words("Slow Morning, Dockside, Velvet Bean, Tall Kettle, Highland Leaf, Crema Works"),
        ("gift box", "travel size"),
        ranges=(
            _words(
                "filter coffee, pour-over cone, paper filters, hand grinder, gooseneck kettle, "
                "coffee scale, carafe, tasting journal"
            ),
            _words(
                "espresso beans, moka pot, milk frother, tamper, espresso cups, knock box, "
                "burr grinder, descaler"
            ),
            _words(
                "breakfast tea, teapot, tea strainer, oolong, tea caddy, matcha, bamboo whisk, "
                "tasting bowls"
            ),
        ),
    ),
    Shelf(
        "GA",
        _words("Greenacre, Potting Shed, Rosewarne, Tansy & Thyme, Allotment 12, Mossbank"),
        ("value pack", "gift wrapped"),
        ranges=(
            _words(
                "seed trays, tomato seeds, potting compost, plant labels, tomato feed, "
                "cane supports, cold frame, water butt"
            ),
            _words(
                "hand trowel, gardening gloves, secateurs, kneeling pad, border fork, "
                "rose pruner, hedge shears, tool rack"
            ),
            _words(
                "herb pots, basil seeds, watering can, window box, mint collection, herb snips, "
                "drying rack, grow light"
            ),
        ),
    ),
    Shelf(
        "CA",
        _words("Farfield, Lantern Peak, Stonepath, Wild Tarn, Drystone, Nightjar"),
        ("in olive", "in orange"),
        ranges=(
            _words(
                "two-person tent, sleeping mat, sleeping bag, head torch, camp stove, mess tin, "
                "camp chair, tarpaulin"
            ),
            _words(
                "day rucksack, walking socks, water bottle, map case, trekking poles, gaiters, "
                "rain shell, bivvy bag"
            ),
            _words(
                "dry bag, paddle, buoyancy aid, wetsuit boots, throw line, spray deck, "
                "roof rack straps, river guide"
            ),
        ),
    ),
    Shelf(
        "CY",
        _words("Merlin Wheel, Tarmac & Tweed, Coldbrook, Sprocket Lane, Longmile, Velo Fen"),
        ("in black", "in yellow"),
        ranges=(
            _words(
                "bicycle helmet, front light, rear light, mudguards, pannier, D-lock, rain cape, "
                "rear rack"
            ),
            _words(
                "puncture kit, track pump, tyre levers, chain lube, multi-tool, chain checker, "
                "torque wrench, repair stand"
            ),
            _words(
                "bib shorts, road jersey, bottle cage, bar tape, clipless pedals, cycling shoes, "
                "bike computer, carbon wheels"
            ),
        ),
    ),
    Shelf(
        "RU",
        _words("Fleetfoot Lane, Second Wind, Milestone, Early Lark, Hill & Hare, Pacer"),
        ("in blue", "in coral"),
        ranges=(
            _words(
                "running shoes, running socks, training diary, reflective vest, phone armband, "
                "interval watch, race belt, recovery sandals"
            ),
            _words(
                "trail shoes, soft flask, running vest, energy gels, windproof jacket, "
                "running poles, waterproof trousers, finisher's mug"
            ),
            _words(
                "yoga mat, yoga blocks, foam roller, resistance bands, massage ball, "
                "balance board, kettlebell, pull-up bar"
            ),
        ),
    ),
    Shelf(
        "MU",
        _words("Cadenza, Little Rehearsal, Maple & Reed, Northern Strings, Offbeat, Gatehouse"),
        ("gift set", "value pack"),
        ranges=(
            _words(
                "piano book 1, piano book 2, piano book 3, scales and arpeggios, piano book 4, "
                "sight reading, piano book 5, recital album"
            ),
            _words(
                "beginner's guitar, clip-on tuner, spare strings, plectrum set, capo, "
                "chord dictionary, guitar stand, slide and blues book"
            ),
            _words(
                "soprano recorder, recorder book 1, recorder book 2, music stand, duet album, "
                "alto recorder, ensemble album, wooden recorder"
            ),
        ),
    ),
)
