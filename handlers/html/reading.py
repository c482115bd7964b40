"""The ``page_reading`` section: how pages are read."""

from __future__ import annotations

from pydantic import Field

from handlers.html.addressed import AddressedSection
from handlers.text.patterns import WordList as Words
from handlers.trees.forest import Trees
from schemas.rules import Section


class PageReadingSection(Section):
    """The ``page_reading`` section. Words are compared without case; the first entries of a list have precedence."""

    max_elements: int = Field(ge=1000, description="Elements of a page; one with more is refused.")
    max_depth: int = Field(ge=10, description="Elements inside each other; a deeper page is refused.")
    max_nodes: int = Field(ge=1000, description="Nodes that are read; what comes after them is not seen.")
    max_structured_characters: int = Field(ge=1000, description="Characters of JSON-LD that are read on one page.")
    max_content_characters: int = Field(ge=1000, description="Characters of main text that are kept.")
    max_summary_characters: int = Field(ge=50, description="Characters of a summary made from leading sentences.")
    head_characters: int = Field(
        ge=50, description="Characters of main text in which a byline, dateline or wire credit is looked for."
    )
    min_figures: int = Field(ge=1, description="Numbers with a unit, per cent or currency that count as statistics.")
    min_table_rows: int = Field(ge=1, description="Rows of a data table.")
    min_table_columns: int = Field(ge=1, description="Columns of a data table.")
    earliest_year: int = Field(ge=1000, le=2100, description="Publication dates before it are mistakes.")
    article_types: Words = Field(description="schema.org types of the article family, in order of precedence.")
    container_types: Words = Field(
        description="schema.org types of parts of a site, reported only if there is no other type."
    )
    thing_types: Words = Field(
        description="schema.org types of things; a visible date is that of the thing, not of the page."
    )
    date_names: Words = Field(description="Names of a publication date in meta tags and microdata.")
    updated_names: Words = Field(description="Names of a date of change, used if there is no other date.")
    published_words: Words = Field(description="Words before a visible date of publication.")
    updated_words: Words = Field(description="Words before a visible date of change.")
    author_names: Words = Field(description="Names of an author in meta tags.")
    publisher_names: Words = Field(description="Names of a publisher or holder of rights in meta tags.")
    description_names: Words = Field(description="Names of a description in meta tags.")
    title_names: Words = Field(description="Names of a title in meta tags.")
    site_names: Words = Field(description="Names of a site's name in meta tags.")
    language_names: Words = Field(description="Names of a language in meta tags.")
    byline_hints: Words = Field(description="Parts of class names that mark a byline.")
    byline_not: Words = Field(description="Parts of class names of elements that are not the byline itself.")
    date_hints: Words = Field(description="Parts of class names that mark a date.")
    date_not: Words = Field(description="Parts of class names of other dates than that of publication.")
    date_labels: Words = Field(description="Words for a date that label one, if they are all that is beside it.")
    date_line_words: Words = Field(
        description="Words beside a date in a line that has nothing else: days of the week, time zones, small words."
    )
    others_hints: Words = Field(
        description="Parts of class names and ids of texts by readers and customers, and of links to other pages."
    )
    others_headings: Words = Field(description="Headings of such parts; numbers and signs in them are ignored.")
    event_hints: Words = Field(
        description="Parts of class names, ids and folders of addresses that mark an announcement of an event."
    )
    thing_labels: Words = Field(
        description="Words of lines beside the data of a book or a record, whose day of publication is not the page's."
    )
    person_labels: Words = Field(description="Words before the day on which the writer of a post joined the site.")
    event_labels: Words = Field(
        description="Words of lines beside the heading of an event: alone, or before a colon or a number."
    )
    beside_hints: Words = Field(
        description="Parts of class names and ids of credits, captions, offers and the like beside the text."
    )
    boilerplate_hints: Words = Field(description="Parts of class names and ids that mark boilerplate.")
    reference_headings: Words = Field(description="Headings of a references section, lower case.")
    wire_services: Words = Field(description="Names under which news agencies sign the beginning of a report.")
    byline_words: Words = Field(description="Words before an author's name at the beginning of a line.")
    byline_labels: Words = Field(description="Further words before an author's name if a colon follows.")
    byline_words_zh: Words = Field(description="Chinese words before an author's name if a sign or a blank follows.")
    reporter_words_zh: Words = Field(description="Chinese words that a reporter's name follows at once.")
    report_words_zh: Words = Field(description="Chinese words that follow a reporter's name and place.")
    byline_stop_words: Words = Field(description="Words of a credit after which no names follow.")
    no_names: Words = Field(description="Words in place of a name that are not a name.")
    byline_occasions: Words = Field(
        description='Words before a "by" in a credit, besides labels and words of publication.'
    )
    byline_place_words: Words = Field(description="Words between a name and a place.")
    role_words: Words = Field(description="Roles of authors, which are not a part of the name.")
    organization_endings: Words = Field(
        description="Ends of names of organisations, in lower case; of words where they begin with a blank."
    )
    name_particles: Words = Field(description="Parts of names in lower case.")
    name_credentials: Words = Field(description="Titles that follow a name after a comma.")
    author_paths: Words = Field(description="Segments of addresses of authors' pages, before the author's own.")
    user_paths: Words = Field(description="Segments of addresses of members' pages in forums.")
    consent_hints: Words = Field(
        default=(), description="Parts of the names of dialogs that ask for consent. They hide, however long they are."
    )
    content_trees: Trees = Field(default=Trees(), description="Trained trees that find the content of a page.")
    date_trees: Trees = Field(default=Trees(), description="Trained trees that find the date of a page.")
    author_trees: Trees = Field(default=Trees(), description="Trained trees that find the authors of a page.")

    addressed: AddressedSection = Field(
        default=AddressedSection(), description="What tells whether a text addresses a language model."
    )
