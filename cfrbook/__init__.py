"""cfrbook: what the book's pages need besides `cfrlib`.

Figures (:mod:`cfrbook.plot`), figures with sliders (:mod:`cfrbook.explore`), broken solvers
(:mod:`cfrbook.museum`), and feedback on exercises (:mod:`cfrbook.exercises`)::

    from cfrbook import exercises, explore, museum, plot
"""
