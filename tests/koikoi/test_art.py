"""Pictures of the flower cards: complete, small, self-contained and titled."""

import gzip
import re
import xml.etree.ElementTree as ET

import pytest

from koikoi import DECK, art
from koikoi.cards import MONTHS

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [card.name for card in DECK]
PICTURES = {name: art.draw(name) for name in NAMES} | {"back": art.back()}


def luminance(color):
    """Return the relative luminance of a color written #rgb or #rrggbb."""
    digits = color[1:] if len(color) == 7 else "".join(2 * d for d in color[1:])
    rgb = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def without_text(svg):
    """Return a drawing without its index and its titles."""
    return re.sub(r'aria-label="[^"]*"|<title>.*?</title>|<text.*?</text>', "", svg)


def test_each_card_has_a_scene_of_its_own():
    assert len(NAMES) == 48
    assert set(art._SCENES) == set(NAMES)
    assert len(set(art._SCENES.values())) == 48
    assert len({without_text(svg) for svg in PICTURES.values()}) == 49


@pytest.mark.parametrize("name", PICTURES)
def test_drawings_are_self_contained(name):
    root = ET.fromstring(PICTURES[name])
    assert root.tag == f"{SVG}svg"
    assert root.get("viewBox") == "0 0 60 96"
    allowed = {"svg", "title", "rect", "path", "circle", "ellipse", "text", "g"}
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in allowed
        for key, value in element.attrib.items():
            assert key != "id" and not key.startswith("on") and "href" not in key
            assert "url(" not in value


@pytest.mark.parametrize("name", PICTURES)
def test_paths_are_well_formed(name):
    number = r"-?(?:\d+\.?\d*|\.\d+)"
    sizes = {"M": 2, "L": 2, "H": 1, "V": 1, "Q": 4, "T": 2, "C": 6, "S": 4, "A": 7, "Z": 0}
    for path in ET.fromstring(PICTURES[name]).iter(f"{SVG}path"):
        d = path.get("d")
        assert re.fullmatch(rf"(?:[MLHVQTCSAZ]|{number}|[ ,])*", d, re.IGNORECASE), d
        assert d[0] == "M"
        for letter, rest in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", d):
            count = len(re.findall(number, rest))
            size = sizes[letter.upper()]
            assert count == 0 if size == 0 else count and count % size == 0, d


@pytest.mark.parametrize("card", DECK, ids=NAMES)
def test_titles_contain_month_flower_and_kind(card):
    root = ET.fromstring(PICTURES[card.name])
    title = (
        f"{card.name}: {art.CALENDAR[card.month - 1]}, {MONTHS[card.month - 1]}, {card.kind}"
    )
    assert root.get("role") == "img"
    assert root.get("aria-label") == root[0].text == title
    assert root[0].tag == f"{SVG}title"
    assert [text.text for text in root.iter(f"{SVG}text")] == [str(card.month)]


def test_marks_of_kinds_differ_in_shape():
    shapes = [
        re.sub(r"#\w+", "", art._MARKS[kind]) for kind in ("light", "animal", "ribbon", "plain")
    ]
    assert len(set(shapes)) == 4
    for card in DECK:
        assert PICTURES[card.name].endswith(f"{art._MARKS[card.kind]}</svg></svg>")


def test_ribbons_differ_without_color():
    colorless = {
        re.sub(r"#\w+", "", ribbon) for ribbon in (art._POEM, art._RED_RIBBON, art._BLUE_RIBBON)
    }
    assert len(colorless) == 3
    for name in NAMES:
        poem, blue = art._POEM in PICTURES[name], art._BLUE_RIBBON in PICTURES[name]
        plain = art._RED_RIBBON in PICTURES[name] and not poem
        assert (poem, blue, plain) == tuple(
            name.endswith(f"-{x}") for x in ("poem", "blue", "ribbon")
        )


def test_contrast_of_frame_and_index_on_light_and_dark_pages():
    for page in ("#ffffff", "#14181e", "#121212", "#000000"):
        assert contrast(art.FRAME, page) >= 3
    for tint in art.TINTS:
        assert contrast(art.FRAME, tint) >= 3
        assert contrast(tint, "#14181e") >= 7
    assert contrast(art.INK, art.PAPER) >= 7
    assert contrast(art.WHITE, art.RED) >= 4.5
    assert contrast(art.SKY, art.BLUE) >= 4.5


def test_drawings_are_small():
    sizes = [len(svg.encode()) for svg in PICTURES.values()]
    assert max(sizes) <= 2_500
    assert sum(sizes) <= 68_500
    assert len(gzip.compress("".join(PICTURES.values()).encode())) <= 10_500


@pytest.mark.parametrize("month", range(12))
def test_faces_of_miniature_decks_are_drawn(month):
    flower = MONTHS[month]
    shown = art.draw(f"{flower}-1")
    for face in (flower, f"{flower}-a", f"{flower} b"):
        drawn = art.draw(face)
        assert without_text(drawn) == without_text(shown)
        assert f"<title>{flower}: {art.CALENDAR[month]}, {flower}, plain</title>" in drawn


def test_copies_of_a_card_have_the_same_drawing():
    assert art.draw("Sake a") == art.draw("Sake-b") == art.draw("Sake")


@pytest.mark.parametrize(
    ("name", "near"),
    [("Moom", "Moon"), ("crane", "Crane"), ("Pine-9", "Pine-1"), ("PHOENIX", "Phoenix")],
)
def test_error_for_an_unknown_name_lists_similar_names(name, near):
    with pytest.raises(ValueError, match=rf"'{name}'.*near to it.*\b{near}\b"):
        art.draw(name)


@pytest.mark.parametrize("name", ["", "<script>", "zzzz", "Pine-1-a-b", 7, DECK[0]])
def test_invalid_names_raise(name):
    with pytest.raises(ValueError, match="no flower card is called"):
        art.draw(name)


def test_a_hand_shows_all_cards_in_order():
    hand = art.show(iter(["Moon", "Pine", "Sake-a", "Moon"]), "Your hand")
    assert repr(hand) == "Your hand: Moon, Pine, Sake-a, Moon"
    titles = re.findall(r"<title>(\w+):", hand._repr_html_())
    assert titles == ["Moon", "Pine", "Sake", "Moon"]
    figure = ET.fromstring(hand._repr_html_())
    assert figure.tag == "figure" and figure[0].text == "Your hand"
    assert "flex-wrap:wrap" in figure[1].get("style")


def test_labels_are_escaped():
    html = art.show(["Moon"], '<b onclick="x">&')._repr_html_()
    assert "&lt;b onclick=&quot;x&quot;&gt;&amp;" in html
    assert "<b" not in html


def test_a_hand_without_cards_or_label():
    assert repr(art.show([])) == "no cards"
    assert "no cards" in art.show([])._repr_html_()
    assert repr(art.show(["Boar"])) == "Boar"
    assert "figcaption" not in art.show(["Boar"])._repr_html_()
